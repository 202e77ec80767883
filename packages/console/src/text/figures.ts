const WHOLE = new Intl.NumberFormat("en-US");

/** A count with its thousands apart. @param upTo counts from there on are not exact, and end with `+` */
export function countText(count: number, upTo = Number.POSITIVE_INFINITY): string {
  return count >= upTo ? `${WHOLE.format(upTo)}+` : WHOLE.format(count);
}

/** A rate with at most one digit behind the point. */
export function rateText(perSec: number): string {
  return `${perSec >= 100 ? WHOLE.format(Math.round(perSec)) : Number(perSec.toFixed(1))}/s`;
}

/** Size of a text in UTF-8. */
export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const kib = bytes / 1_024;
  return kib < 1_024 ? `${Number(kib.toFixed(1))} KiB` : `${Number((kib / 1_024).toFixed(1))} MiB`;
}
