import { pages, write } from "./reference/pages.ts";

/** Generates pages and tables of docs/reference from the code, as part of `npm run generate`. */
for (const page of await pages()) {
  if (page.is === page.shouldBe) continue;
  write(page);
  console.log(`reference: docs/reference/${page.name} has changed`);
}
