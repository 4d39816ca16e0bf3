/* A page that has moved leads on; the browser would leave the heading that was asked for behind. */
if (location.hash) location.replace(document.querySelector("a").href + location.hash);
