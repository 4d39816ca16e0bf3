/* What search shows first: the page of that name, then the place of a pasted text, then what the theme's index finds. */
(() => {
  "use strict";

  /* The words that the index leaves out: lunr's list, of which a query can hold these. */
  const LEFT_OUT = new Set((
    "a about across after all almost also am among an and any are as at be because been but by can cannot could did do does " +
    "either else every for from get got had has have he her his how however i if in into is it its just least let like may me " +
    "might most must my neither no nor not of off often on only or other our own rather said say says she should since so some " +
    "than that the their them then there these they this to too us wants was we were what when where which while who whom why " +
    "will with would yet you your"
  ).split(" "));
  /* What means something to the index's language, or stands between words. */
  const BETWEEN = /[\s\-,:!=[\]()"'`/*+~^<>{}|]+/;
  /* What ends a sentence is no part of its last word. */
  const ENDS = /[?.;…]+$/;
  /* A text is pasted when it has this many words. It stands where this share of its runs of three words stands, or runs
     that stand nowhere else: a run counts the less the more places have it. */
  const PASTED = 4;
  const SHARE = 0.4;
  const RARE = 1.5;
  /* How many pages may come first because their name starts with what was typed. */
  const MANY = 8;
  /* A word of more letters may be misspelt; in a shorter one another letter makes another word. */
  const long = (word) => word.length > 4;

  const TEXT = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
  const plain = (html) => html.replace(/<[^>]*>/g, "").replace(/&(?:lt|gt|amp);/g, (name) => TEXT[name]);
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const name = (text) => words(text).join("");
  const MARKUP = { "<": "lt", ">": "gt", "&": "amp" };
  const LONG = 240;
  const pageOf = (location) => location.split("#")[0];

  /* What is shown of a place that the index did not find: the piece that holds most of the query, without markup. */
  function excerpt(html, query) {
    const asked = new Set(words(query));
    const said = html.split(/<(?:p|pre|li)>/).map(plain).filter((piece) => piece.trim());
    const held = (piece) => new Set(words(piece).filter((word) => asked.has(word))).size;
    const best = said.reduce((one, other) => (held(other) > held(one) ? other : one), said[0] ?? "");
    const short = best.length > LONG ? `${best.slice(0, LONG).trim()}...` : best.trim();
    return short && `<p>${short.replace(/[&<>]/g, (letter) => `&${MARKUP[letter]};`)}</p>`;
  }

  function runs(text) {
    const said = words(text);
    return said.slice(2).map((_, at) => said.slice(at, at + 3).join(" "));
  }

  /* The query for the index, from strict to loose: all words, all with a letter that differs, any of them, as typed. */
  function variants(query) {
    if (/["]|(?:^|\s)[+-]\S/.test(query)) return [query];
    const said = query.split(BETWEEN).map((word) => word.replace(ENDS, "")).filter((word) => word && !LEFT_OUT.has(word.toLowerCase()));
    if (!said.length) return [query];
    const last = /\s$/.test(query) ? "" : "*";
    return [
      said.map((word, at) => `+${word}${at === said.length - 1 ? last : ""}`).join(" "),
      ...(said.some(long) ? [said.map((word) => `+${word}${long(word) ? "~1" : ""}`).join(" ")] : []),
      said.join(" "),
      query,
    ];
  }

  class Places {
    constructor(docs) {
      this.docs = new Map(docs.map((doc) => [doc.location, doc]));
      this.names = [];
      this.phrases = [];
      this.headings = new Map();
      for (const { location, title, boost = 1, aliases = [] } of docs) {
        const known = name(plain(title));
        if (pageOf(location) === location) {
          this.names.push(...[known, ...aliases.map(name)].map((text) => [text, location]));
          /* Names that mean one thing also within a question: of several words, or an abbreviation. */
          const clear = [plain(title), ...aliases].filter((text) => words(text).length > 1 || /^[A-Z]{3,}$/.test(text));
          this.phrases.push(...clear.map((text) => [` ${words(text).join(" ")} `, location]));
        } else if (boost >= 1 && !this.headings.has(known)) {
          this.headings.set(known, location);
        }
      }
      this.names.sort(([a], [b]) => a.length - b.length);
      this.phrases.sort(([a], [b]) => b.length - a.length);
    }

    /* Where each run of three words stands; made when a text is pasted for the first time. */
    get index() {
      if (!this.made) {
        this.made = new Map();
        for (const { location, title, text } of this.docs.values()) {
          for (const run of new Set(runs(`${plain(title)} ${plain(text)}`))) {
            if (!this.made.has(run)) this.made.set(run, []);
            this.made.get(run).push(location);
          }
        }
      }
      return this.made;
    }

    /* The places to put first, the best one first. */
    first(query) {
      const whole = name(query);
      /* `strategy.run(step)` is about `strategy.run`; `tf.data.Dataset.map` about `map`. */
      const called = query.trim().replace(/(?<=\w)\(.*$/, "");
      const tail = /^[\w.]+\.\w+$/.test(called) ? called.slice(called.lastIndexOf(".") + 1) : called;
      const named = (test) => this.names.filter(([known]) => test(known)).map(([, location]) => location);
      const starts = whole ? named((known) => known.startsWith(whole)).slice(0, MANY) : [];
      const heading = this.headings.get(whole);
      return [
        ...named((known) => known === whole),
        ...named((known) => known === name(called)),
        ...named((known) => known === name(tail)),
        ...this.pasted(query),
        ...starts,
        ...(heading ? [heading] : []),
        ...this.within(query),
      ];
    }

    /* The pages whose name stands in a question, the longest name first. */
    within(query) {
      const asked = ` ${words(query).join(" ")} `;
      return this.phrases.filter(([phrase]) => asked.includes(phrase)).map(([, location]) => location);
    }

    pasted(query) {
      if (query.trim().split(/\s+/).length < PASTED) return [];
      const asked = new Set(runs(query));
      const found = new Map();
      for (const run of asked) {
        const places = this.index.get(run) ?? [];
        for (const at of places) {
          const [count, weight] = found.get(at) ?? [0, 0];
          found.set(at, [count + 1, weight + 1 / places.length]);
        }
      }
      const held = [...found].filter(([, [count, weight]]) => count >= SHARE * asked.size || weight >= RARE);
      return held.sort(([, [, a]], [, [, b]]) => b - a).map(([location]) => location);
    }

    /* The items of the index with those places first: for each page a list, the best of its places first. */
    order(query, items) {
      const groups = new Map(items.map((group) => [pageOf(group[0].location), group]));
      const led = new Map();
      const pasted = new Set(this.pasted(query));
      for (const location of new Set(this.first(query))) {
        const page = pageOf(location);
        const group = led.get(page) ?? groups.get(page) ?? [];
        const has = (place) => group.find((doc) => doc.location === place);
        const bare = (place) => {
          const doc = this.docs.get(place);
          return { ...doc, text: excerpt(doc.text, query), score: 0, terms: {} };
        };
        const entry = pasted.has(location) ? bare(location) : (has(location) ?? bare(location));
        const rest = group.filter((doc) => doc.location !== location);
        const parent = has(page) || page === location || !this.docs.has(page) ? [] : [bare(page)];
        led.set(page, led.has(page) ? group : [entry, ...rest, ...parent]);
      }
      return [...led.values(), ...items.filter((group) => !led.has(pageOf(group[0].location)))];
    }
  }

  /* Stands between the theme and its worker. Messages: 0 the index, 1 it is made, 2 a query, 3 its result. */
  class Search {
    constructor(worker, answer) {
      this.worker = worker;
      this.answer = answer;
      this.asked = [];
      worker.onmessage = ({ data }) => {
        if (data.type === 1) this.ready = true;
        if (data.type === 3) this.result(data);
      };
    }

    post(message) {
      if (message.type !== 2) {
        this.places = new Places(message.data.docs);
        this.worker.postMessage(message);
        /* The theme may ask at once: names are known before the worker has made its index. */
        this.answer({ type: 1 });
        return;
      }
      const items = this.ready ? [] : this.places.order(message.data, []);
      if (items.length) this.answer({ type: 3, data: { items } });
      this.ask(message.data, variants(message.data));
    }

    ask(query, [now, ...left]) {
      this.asked.push({ query, left });
      this.worker.postMessage({ type: 2, data: now });
    }

    /* Shows a result, or asks a looser query where there is none. */
    result({ type, data }) {
      const { query, left } = this.asked.shift();
      if (this.asked.length) return;
      const items = this.places.order(query, data.items);
      if (items.length || !left.length) this.answer({ type, data: { ...data, items } });
      else this.ask(query, left);
    }
  }

  globalThis.guideSearch = { Places, Search, variants };
})();
