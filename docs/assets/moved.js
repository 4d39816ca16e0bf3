/* A page that has moved leads on; the browser would leave the heading that was asked for behind. */
if (location.hash) {
  const target = new URL(document.querySelector("a").href);
  // In place of the heading that the target may name.
  target.hash = location.hash;
  location.replace(target);
}
