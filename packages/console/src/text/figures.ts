/** Places of the commas between thousands. The first use of Intl would hold up the first view for tens of milliseconds. */
const THOUSANDS = /\B(?=(?:\d{3})+$)/g;

/** A count with its thousands apart. @param upTo counts from there on are not exact, and end with `+` */
export function countText(count: number, upTo = Number.POSITIVE_INFINITY): string {
  return count >= upTo ? `${wholeText(upTo)}+` : wholeText(count);
}

function wholeText(count: number): string {
  return String(Math.round(count)).replace(THOUSANDS, ",");
}

/** A rate with at most one digit behind the point. */
export function rateText(perSec: number): string {
  return `${perSec >= 100 ? wholeText(perSec) : Number(perSec.toFixed(1))}/s`;
}

/** Size of a text in UTF-8. */
export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  const kib = bytes / 1_024;
  return kib < 1_024 ? `${Number(kib.toFixed(1))} KiB` : `${Number((kib / 1_024).toFixed(1))} MiB`;
}
