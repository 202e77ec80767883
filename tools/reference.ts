import { writeFileSync } from "node:fs";
import { staleDashboards, writeDashboards } from "./grafana/dashboards.ts";
import { API_DOCUMENT, readApiDocument, textOf } from "./reference/api-document.ts";
import { pages, write } from "./reference/pages.ts";

/** Generates pages and tables of docs, dashboards and the document of the API, from the code, as part of `npm run generate`. */
for (const page of await pages()) {
  if (page.is === page.shouldBe) continue;
  write(page);
  console.log(`reference: docs/${page.name} has changed`);
}
for (const name of staleDashboards()) console.log(`reference: deploy/grafana/${name}.json has changed`);
writeDashboards();
writeFileSync(API_DOCUMENT, textOf(await readApiDocument()));
