import fc from "fast-check";

/** Random expressions, most of them about times of day at which clocks are set. */

const numberIn = (min: number, max: number) => fc.integer({ min, max }).map(String);

function entryIn(min: number, max: number): fc.Arbitrary<string> {
  const range = fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([one, other]) => {
    return `${Math.min(one, other)}-${Math.max(one, other)}`;
  });
  const step = fc.integer({ min: 1, max: Math.min(max, 20) });
  const stepped = fc.tuple(fc.oneof(range, fc.constant("*")), step).map(([of, by]) => `${of}/${by}`);
  return fc.oneof({ arbitrary: numberIn(min, max), weight: 4 }, range, stepped);
}

function fieldIn(min: number, max: number): fc.Arbitrary<string> {
  const list = fc.array(entryIn(min, max), { minLength: 2, maxLength: 4 }).map((entries) => entries.join(","));
  return fc.oneof({ arbitrary: entryIn(min, max), weight: 5 }, list, fc.constant("*"));
}

const sharpHour = fc.constantFrom("0", "1", "2", "3", "23", "0,2", "1-3", "1,2,3", "0-3", "22,23,0");
const hour = fc.oneof({ arbitrary: sharpHour, weight: 3 }, fieldIn(0, 23));
const dateEntry = fc.oneof(
  numberIn(1, 31),
  numberIn(1, 31).map((date) => `${date}W`),
  fc.constantFrom("L", "1-7", "*/2"),
);
const weekdayEntry = fc.constantFrom(
  "0",
  "7",
  "SUN",
  "mon",
  "1-5",
  "FRI-SUN",
  "5-7",
  "SUN#1",
  "7#2",
  "MON#5",
  "sunL",
  "6L",
  "*/2",
  "SAT,SUN",
);

export const dateField = fc.oneof(
  { arbitrary: fc.constant("*"), weight: 3 },
  dateEntry,
  fc.constantFrom("LW", "?", "1,15W,L"),
);
export const weekdayField = fc.oneof({ arbitrary: fc.constant("*"), weight: 2 }, weekdayEntry, fc.constant("?"));
export const monthField = fc.oneof(
  { arbitrary: fc.constant("*"), weight: 4 },
  fieldIn(1, 12),
  fc.constantFrom("mar,OCT", "JAN-jun"),
);
const second = fc.constantFrom("", "", "", "", "", "0 ", "30 ", "*/20 ", "59 ", "10-12 ");

export const expression = fc
  .tuple(second, fieldIn(0, 59), hour, dateField, monthField, weekdayField)
  .map(([seconds, ...fields]) => seconds + fields.join(" "));

export const dstPolicy = fc.record({
  gap: fc.constantFrom("SHIFT" as const, "SKIP" as const),
  fold: fc.constantFrom("FIRST" as const, "LAST" as const, "BOTH" as const),
});
