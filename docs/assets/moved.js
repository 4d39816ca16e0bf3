/* A page that has moved leads on; the browser would leave the heading that was asked for behind. So does a heading that
   has moved to another page: there a hidden link has its name. */
if (location.hash) {
  const link = document.getElementById(location.hash.slice(1));
  if (link?.matches("a[hidden]")) location.replace(link.href);
  else if (document.querySelector("meta[http-equiv=refresh]")) {
    const target = new URL(document.querySelector("a").href);
    // In place of the heading that the target may name.
    target.hash = location.hash;
    location.replace(target);
  }
}
