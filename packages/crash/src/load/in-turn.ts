/** Sends requests for the first server to all servers in turn, so that a retry reaches another one. */
export function inTurn(urls: readonly string[]): typeof fetch {
  const [first = ""] = urls;
  let turn = 0;
  return (input, init) => {
    const url = urls[turn++ % urls.length] ?? first;
    return fetch(String(input).replace(first, url), init);
  };
}
