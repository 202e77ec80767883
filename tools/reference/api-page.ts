import { describeProblem, PROBLEM_NAMES } from "../../packages/server/src/testing.ts";
import { type ApiDocument, type Operation, readApiDocument, type Schema } from "./api-document.ts";
import { blocks, code, linkTo, table } from "./markdown.ts";
import { headingOf, nameOf, typeText } from "./schema-text.ts";

interface Route {
  method: string;
  path: string;
  operation: Operation;
}

/** Generates docs/reference/api.md: every operation and every named schema of the OpenAPI document. */
export async function apiPage(): Promise<string> {
  const document = await readApiDocument();
  const routes = routesOf(document);
  const tags = [...new Set(routes.flatMap(({ operation }) => operation.tags ?? []))];
  const schemas = Object.entries(document.components.schemas);
  const describe = (schema: Schema) =>
    schema.description ?? document.components.schemas[nameOf(schema)]?.description ?? "";
  return blocks(
    "## Operations",
    table(["operation", "request", "summary"], routes.map(indexRow)),
    ...tags.map((tag) => tagSection(tag, document, routes)),
    "## Schemas",
    schemas.map(([name]) => linkTo(headingOf(name), name)).join(", "),
    ...schemas.map(([name, schema]) => schemaSection(name, schema, describe)),
  );
}

function routesOf(document: ApiDocument): Route[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function indexRow({ method, path, operation: { operationId, summary } }: Route): string[] {
  return [linkTo(operationId, operationId), code(`${method} ${path}`), summary];
}

function tagSection(tag: string, { tags }: ApiDocument, routes: readonly Route[]): string {
  const description = tags.find(({ name }) => name === tag)?.description ?? "";
  const tagged = routes.filter(({ operation }) => operation.tags?.includes(tag));
  return blocks(`### Operations: ${tag}`, description && `${description}.`, ...tagged.map(operationSection));
}

function operationSection({ method, path, operation }: Route): string {
  const { operationId, summary, description = "", parameters = [], requestBody, responses } = operation;
  const body = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => `${bodyText(schema)}, ${type}`);
  return blocks(
    `#### ${operationId}`,
    `${code(`${method} ${path}`)}: ${summary}. ${scopeText(operation["x-scope"])}`,
    description,
    parameters.length === 0 ? "" : table(["parameter", "in", "type", "required", "description"], rowsOf(parameters)),
    body.length === 0 ? "" : `Body: ${body.join("; ")}${requestBody?.required === true ? "" : "; optional"}.`,
    table(["answer", "body", "description"], answerRows(responses)),
    `Problems: ${problemsOf(responses).join(", ")}.`,
  );
}

function scopeText(scope: string): string {
  if (scope === "public") return "Needs no key.";
  return scope === "any" ? "Needs a key of any kind." : `Needs the scope ${code(scope)}.`;
}

function rowsOf(parameters: NonNullable<Operation["parameters"]>): string[][] {
  return parameters.map(({ name, in: place, schema, required = false, description }) => {
    return [code(name), place, typeText(schema), yes(required), description ?? schema.description ?? ""];
  });
}

const PROBLEM = "application/problem+json";

function answerRows(responses: Operation["responses"]): string[][] {
  const answers = Object.entries(responses).filter(([, { content = {} }]) => content[PROBLEM] === undefined);
  return answers.map(([status, { description, content = {} }]) => {
    const bodies = Object.entries(content).map(([type, { schema }]) =>
      type === "application/json" ? bodyText(schema) : `${bodyText(schema)}, ${type}`,
    );
    return [status, bodies.join("; ") || "none", description];
  });
}

function bodyText(schema: Schema | undefined): string {
  return schema === undefined ? "text" : typeText(schema);
}

function problemsOf(responses: Operation["responses"]): string[] {
  const problems = Object.entries(responses).filter(([, { content = {} }]) => content[PROBLEM] !== undefined);
  return problems.map(([status, { description }]) => `${problemLink(Number(status), description)} (${status})`);
}

/** The document has the title of a problem, which together with the status determines the problem's type. */
function problemLink(status: number, title: string): string {
  const found = PROBLEM_NAMES.map(describeProblem).find((about) => about?.status === status && about.title === title);
  return found ? `[${code(found.type)}](problems.md)` : title;
}

/** Description of a field: its own, or the one of the named schema. */
type Describe = (schema: Schema) => string;

function schemaSection(name: string, schema: Schema, describe: Describe): string {
  const { description = "", properties } = schema;
  const rows = Object.keys(properties ?? {}).length === 0 ? [] : fieldRows(schema, "", describe);
  return blocks(
    `### ${headingOf(name)}`,
    description && `${description[0]?.toUpperCase()}${description.slice(1).replace(/[.]$/, "")}.`,
    rows.length === 0 ? `Type: ${typeText(schema)}` : table(["field", "type", "required", "description"], rows),
  );
}

/** Rows for the fields of an object. Fields of objects without a name follow as `outer.inner`. */
function fieldRows({ properties = {}, required = [] }: Schema, before: string, describe: Describe): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const row = [code(before + name), typeText(field), yes(required.includes(name)), describe(field)];
    const inside = `${before}${name}${field.items === undefined ? "" : "[]"}.`;
    return [row, ...variantsOf(field).flatMap((inner) => fieldRows(inner, inside, describe))];
  });
}

/** Objects without a name that a field may have as its value or as an item of its list. */
function variantsOf(field: Schema): Schema[] {
  const one = field.items ?? field;
  return (one.anyOf ?? [one]).filter(({ properties }) => properties !== undefined);
}

function yes(isRequired: boolean): string {
  return isRequired ? "yes" : "no";
}
