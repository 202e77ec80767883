/** For a test of handlers that run apart. */
export default ({ n }: { n: number }) => 2 * n;
