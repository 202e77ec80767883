/** Handler for a test of isolated handlers. */
export default ({ n }: { n: number }) => 2 * n;
