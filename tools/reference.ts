import { pages, write } from "./reference/pages.ts";

/** Makes the tables of docs/reference anew from the code: part of `npm run generate`. */
for (const page of pages()) {
  if (page.is === page.shouldBe) continue;
  write(page);
  console.log(`reference: docs/reference/${page.name} has changed`);
}
