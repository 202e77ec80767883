/** A number that JavaScript cannot hold exactly, as its text. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type WithSource = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;

/** Parses JSON without changing numbers: one that a double cannot hold becomes an `ExactNumber`, where the browser tells its text. */
export function parseExactly(text: string): unknown {
  const revive: WithSource = (_key, value, context) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || isSame(source, value)) return value;
    return new ExactNumber(source);
  };
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** Whether a number has the digits of its text. Forms such as `1e3` or `1.50` differ and are still the same number. */
function isSame(source: string, value: number): boolean {
  return String(value) === source || digitsOf(source) === digitsOf(String(value));
}

function digitsOf(text: string): string {
  const mantissa = text.replace(/e.*$/i, "").replace(/[-.]/g, "");
  return mantissa.replace(/^0+/, "").replace(/0+$/, "");
}
