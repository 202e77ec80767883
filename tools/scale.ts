import { derived, write } from "./scale/pages.ts";

/** Derives the table of `mainspring capacity` and the tables of docs/scale.md from the results of the benchmark: `npm run scale`. */
for (const file of derived()) {
  if (file.is === file.shouldBe) continue;
  write(file);
  console.log(`scale: ${file.path} has changed`);
}
