import { simulate } from "../simulate.ts";
import { HUNTED } from "./hunted.ts";

/** Tries seeds until one is caught, in a process in which a mutant was planted; says which, as JSON. */
const [first = "1", limit = "200"] = process.argv.slice(2);
const others = Array.from({ length: Number(limit) }, (_, index) => index + 1);
let caught = null;
for (const seed of new Set([Number(first), ...others])) {
  const { violation, checker } = await simulate({ seed, ...HUNTED });
  if (violation === null) continue;
  caught = { seed, violation, checker };
  break;
}
process.stdout.write(JSON.stringify(caught));
