/** Requests to the first of the servers go to all of them in turn, so that a repeat asks another one. */
export function inTurn(urls: readonly string[]): typeof fetch {
  const [first = ""] = urls;
  let turn = 0;
  return (input, init) => {
    const url = urls[turn++ % urls.length] ?? first;
    return fetch(String(input).replace(first, url), init);
  };
}
