// Keeps the files of the page: each is fetched once, and then served from here without a network.

// `make` puts the files' checksum here. So when one changes, the browser finds another worker, which
// begins with nothing and drops what the one before has kept.
const CACHE = 'translator-CHECKSUM';

// What the page has asked for before it could ask here.
const FIRST = ['./', 'page.js', 'translator.js', 'litert/core.js', 'litert/wasm-utils.js'];

// Asks the server, whatever the browser's own cache may have of a version before.
const anew = (url) => new Request(url, {cache: 'no-cache'});

self.addEventListener('install', (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FIRST.map(anew))));
});

self.addEventListener('activate', (event) => {
  const drop = async () => {
    const names = await caches.keys();
    // Other applications of the same origin have theirs.
    const old = names.filter((name) => name.startsWith('translator-') && name !== CACHE);
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(drop());
});

self.addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET') return;
  const answer = async () => {
    const cache = await caches.open(CACHE);
    const kept = await cache.match(event.request);
    if (kept) return kept;
    const response = await fetch(anew(event.request.url));
    // Not waited for: the page shows how far a download is, and a full disk is no reason to stop.
    if (response.ok) event.waitUntil(cache.put(event.request, response.clone()).catch(() => {}));
    return response;
  };
  event.respondWith(answer());
});
