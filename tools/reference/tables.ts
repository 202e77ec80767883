import {
  describeKeys,
  describeProblem,
  FIGURES,
  type Figure,
  OTHER_VARIABLES,
  PREFIX,
  PROBLEM_NAMES,
  PROCESS_FIGURES,
} from "../../packages/server/src/testing.ts";
import { alertTable } from "../prometheus/runbooks.ts";
import { apiPage } from "./api-page.ts";
import { LIMITS } from "./limits.ts";
import { code, table } from "./markdown.ts";
import { sdkPage } from "./sdk-page.ts";

/** Generators of the generated part of pages of docs, from descriptions in the code and from the rules of Prometheus. */
export const TABLES: Record<string, () => string | Promise<string>> = {
  "reference/api.md": apiPage,
  "reference/sdk.md": sdkPage,
  "reference/problems.md": () => table(["type", "status", "what it means", "what to do"], problemRows()),
  "reference/metrics.md": () =>
    table(["metric", "kind", "labels", "what it tells", "worth an alert when"], metricRows()),
  "reference/limits.md": () => table(["what", "limit", "beyond it"], LIMITS),
  "reference/configuration.md": () =>
    `${table(["key", "default", "what it is for", "value"], keyRows())}\n\n${secretFiles()}\n\nSettings of other programs:\n\n` +
    table(
      ["variable", "what it is for"],
      Object.entries(OTHER_VARIABLES).map(([name, help]) => [code(name), help]),
    ),
  "runbooks/README.md": alertTable,
};

function problemRows(): string[][] {
  return PROBLEM_NAMES.map((name) => {
    const found = describeProblem(name);
    if (found === null) throw new Error(`no problem is called ${name}`);
    return [code(found.type), `${found.status}`, found.title, found.help];
  });
}

function metricRows(): string[][] {
  const ours = Object.entries<Figure>(FIGURES).map(([name, { type, labels, help, alert = "" }]) => {
    return [code(PREFIX + name), type, labels.map(code).join(", "), help, alert];
  });
  const others = Object.entries(PROCESS_FIGURES).map(([name, { help, alert }]) => {
    return [code(name), name.endsWith("_total") ? "counter" : "gauge", "", help, alert];
  });
  return [...ours, ...others];
}

function keyRows(): string[][] {
  const shown = (value: string | null) => (value === null ? "none" : code(value));
  return describeKeys().map(({ name, fallback, onRedis, help, takes }) => {
    const other = onRedis === fallback ? "" : `; ${shown(onRedis)} where a Redis is the store`;
    return [code(name), shown(fallback) + other, help, takes];
  });
}

function secretFiles(): string {
  const names = describeKeys().flatMap(({ name, isSecret }) => (isSecret ? [code(name)] : []));
  return (
    `Each of these is a secret or may contain one: ${names.join(", ")}. An environment variable with \`_FILE\` at the end of its name, such as ` +
    "`MAINSPRING_STORE_FILE`, may name a file that holds nothing but the value. The server reads the file when it starts."
  );
}
