import ts from "typescript";
import { docstringOf, markdownOf, sentenceOf, splitDefault } from "./docstrings.ts";
import { blocks, code, linkTo, table } from "./markdown.ts";
import { type Field, type Method, shapeOf, visible } from "./sdk-members.ts";
import { fieldType, functionType, signatureText, textOf, typeParametersText } from "./sdk-signatures.ts";
import { type Declaration, type Export, SdkSources } from "./sdk-sources.ts";

/** Generates docs/reference/sdk.md: every export of the SDK and of the test kit, and the types that they name. */
export function sdkPage(): string {
  return new SdkPage().text();
}

/** Kinds of declarations in the order of their sections. */
const KINDS = ["function", "class", "const", "interface", "type"] as const;
const TITLES = { function: "Functions", class: "Classes", const: "Constants", interface: "Interfaces", type: "Types" };

class SdkPage {
  readonly #sources = new SdkSources();
  readonly #headings = new Map<Declaration, string>();
  /** Types that a described declaration names and that have no heading yet. */
  readonly #further = new Map<Declaration, Export>();

  text(): string {
    const sdk = this.#sources.exportsOf("sdk");
    const sql = this.#sources.exportsOf("sdk/sql");
    const testkit = this.#sources.exportsOf("testkit");
    for (const { name, declarations } of [...sdk, ...sql, ...testkit])
      for (const declaration of declarations) this.#headings.set(declaration, headingOf(name, declaration));
    const packages = [
      this.#package("@mainspring/sdk", sdk),
      this.#package("@mainspring/sdk/sql", sql),
      this.#package("@mainspring/testkit", testkit),
    ];
    return blocks(...packages, this.#furtherTypes());
  }

  #package(name: string, exports: readonly Export[]): string {
    const described = KINDS.map((kind) => exports.filter(({ declarations }) => kindOf(declarations[0]) === kind));
    const index = described.flatMap((found, at) => {
      const links = found.map(({ name: text, declarations }) => linkTo(headingOf(text, declarations[0]), text));
      return links.length === 0 ? [] : [`- ${TITLES[KINDS[at] ?? "type"]}: ${links.join(", ")}`];
    });
    return blocks(`## ${name}`, index.join("\n"), ...described.flat().map((found) => this.#section(found)));
  }

  /** Describes what the exports name without an export, and what that names in its turn. */
  #furtherTypes(): string {
    const sections = new Map<string, string>();
    for (let next = this.#take(); next !== null; next = this.#take()) sections.set(next.name, this.#section(next));
    const sorted = [...sections].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, section]) => section);
    const intro = "Programs reach these through the exports above, and cannot import them.";
    return blocks("## Types without an export", intro, ...sorted);
  }

  #take(): Export | null {
    for (const [declaration, found] of this.#further) {
      this.#further.delete(declaration);
      return { ...found, isType: true };
    }
    return null;
  }

  #section({ name, declarations, isType }: Export): string {
    const [declaration] = declarations;
    const heading = `### ${headingOf(name, declaration)}`;
    if (declaration === undefined) return heading;
    if (ts.isFunctionDeclaration(declaration)) {
      const overloads = visible(declarations.filter(ts.isFunctionDeclaration));
      return blocks(heading, this.#signatures(name, overloads));
    }
    const docs = markdownOf(docstringOf(declaration));
    if (ts.isTypeAliasDeclaration(declaration)) return blocks(heading, docs, this.#alias(declaration));
    if (ts.isVariableDeclaration(declaration)) return blocks(heading, docs, constantOf(name, declaration));
    return blocks(heading, docs, this.#shape(name, declaration, isType));
  }

  /** The definition as the source has it, comments included. Types that the package does not export stay inside. */
  #alias(declaration: ts.TypeAliasDeclaration): string {
    const known = this.#links([declaration.type], ([found]) => found !== undefined && this.#headings.has(found));
    return blocks(fence(declaration.getText().replace(/^export /, "")), seeAlso(known));
  }

  #shape(name: string, declaration: ts.ClassDeclaration | ts.InterfaceDeclaration, isType: boolean): string {
    const { fields, methods, bases } = shapeOf(declaration, this.#sources, (found) => this.#headings.has(found));
    const parameters = typeParametersText(declaration);
    const about = [
      parameters === "" ? "" : `Type parameters: ${code(parameters)}.`,
      bases.length === 0 ? "" : `Extends ${bases.map((base) => this.#typeCell(textOf(base), [base])).join(", ")}.`,
    ];
    const sections = [...methods]
      .filter(([method]) => method !== "constructor" || !isType)
      .map(([method, overloads]) => this.#method(name, method, visible(overloads as MethodWithBody[])));
    return blocks(about.join(" ").trim(), this.#fields(fields), ...sections);
  }

  #fields(fields: readonly Field[]): string {
    const rows = fields.map((field) => {
      const { meaning, fallback } = splitDefault(sentenceOf(docstringOf(field)));
      const type = "parameters" in field && !ts.isGetAccessor(field) ? functionType(field) : typeOf(field);
      const optional = !ts.isGetAccessor(field) && field.questionToken !== undefined ? "?" : "";
      const typed = ts.isMethodSignature(field) ? [...field.parameters] : field.type === undefined ? [] : [field.type];
      return [code(field.name.getText() + optional), this.#typeCell(type, typed), fallback, meaning];
    });
    if (rows.length === 0) return "";
    if (rows.some(([, , fallback]) => fallback !== "")) return table(["field", "type", "default", "meaning"], rows);
    return table(
      ["field", "type", "meaning"],
      rows.map(([field = "", type = "", , meaning = ""]) => [field, type, meaning]),
    );
  }

  #method(owner: string, name: string, overloads: readonly Method[]): string {
    const title = name === "constructor" ? `new ${owner}()` : `${owner}.${name}()`;
    return blocks(`#### ${title.replace(".[", "\\[")}`, this.#signatures(name, overloads, owner));
  }

  /** Signatures of one function, each with its docstring. An overload without a docstring has the one before it. */
  #signatures(name: string, overloads: readonly (Method | ts.FunctionDeclaration)[], owner = ""): string {
    const shown = name === "constructor" ? `new ${owner}` : name;
    const groups: { signatures: string[]; docs: string }[] = [];
    for (const overload of overloads) {
      const docs = markdownOf(docstringOf(overload));
      const last = groups.at(-1);
      if (last !== undefined && (docs === "" || last.docs === "")) {
        last.signatures.push(signatureText(shown, overload));
        last.docs ||= docs;
      } else groups.push({ signatures: [signatureText(shown, overload)], docs });
    }
    const types = overloads.flatMap((node) => [...node.parameters, ...(node.type === undefined ? [] : [node.type])]);
    return blocks(
      ...groups.map(({ signatures, docs }) => blocks(fence(signatures.join(";\n")), docs)),
      seeAlso(this.#links(types)),
    );
  }

  #typeCell(type: string, nodes: readonly ts.Node[]): string {
    const links = this.#links(nodes);
    const [only] = links;
    if (links.length === 1 && only !== undefined) return linkTo(only.heading, type);
    return links.length === 0 ? code(type) : `${code(type)}: ${links.map(({ link }) => link).join(", ")}`;
  }

  /** Links to the types that nodes name. */
  #links(nodes: readonly ts.Node[], isWanted?: (found: readonly Declaration[]) => boolean): Link[] {
    const links = new Map<string, string>();
    for (const found of nodes.flatMap((node) => this.#sources.namedIn(node))) {
      const [declaration] = found.declarations;
      if (declaration === undefined || isWanted?.(found.declarations) === false) continue;
      links.set(this.#headingFor(found, declaration), found.name);
    }
    return [...links].map(([heading, name]) => ({ heading, link: linkTo(heading, name) }));
  }

  #headingFor(found: Export, declaration: Declaration): string {
    const known = this.#headings.get(declaration);
    if (known !== undefined) return known;
    const heading = headingOf(found.name, declaration);
    this.#headings.set(declaration, heading);
    this.#further.set(declaration, found);
    return heading;
  }
}

interface Link {
  heading: string;
  link: string;
}

function seeAlso(links: readonly Link[]): string {
  return links.length === 0 ? "" : `See ${links.map(({ link }) => link).join(", ")}.`;
}

type MethodWithBody = Method & { body?: ts.Node | undefined };

/** Heading with kind and name, because a function and a type may differ by the case of a letter alone. */
function headingOf(name: string, declaration: Declaration | undefined): string {
  return `${kindOf(declaration)} ${name}`;
}

function kindOf(declaration: Declaration | undefined): (typeof KINDS)[number] {
  if (declaration === undefined || ts.isTypeAliasDeclaration(declaration)) return "type";
  if (ts.isFunctionDeclaration(declaration)) return "function";
  if (ts.isClassDeclaration(declaration)) return "class";
  return ts.isInterfaceDeclaration(declaration) ? "interface" : "const";
}

function typeOf(field: Exclude<Field, ts.MethodSignature>): string {
  if (!ts.isGetAccessor(field)) return fieldType(field);
  return field.type === undefined ? "unknown" : textOf(field.type);
}

/** A list of texts as a table with the comment of each, another constant as its value. */
function constantOf(name: string, { initializer }: ts.VariableDeclaration): string {
  if (initializer === undefined) return "";
  const value = ts.isAsExpression(initializer) ? initializer.expression : initializer;
  if (!ts.isArrayLiteralExpression(value)) return fence(`const ${name} = ${textOf(value)}`);
  return table(
    ["value", "meaning"],
    value.elements.map((element) => [code(textOf(element)), commentBefore(element)]),
  );
}

function commentBefore(node: ts.Node): string {
  const text = node.getSourceFile().text;
  const comments = ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [];
  return comments
    .map(({ pos, end }) =>
      text
        .slice(pos, end)
        .replaceAll(/^\/\*\*?|\*\/$|\n\s*\*(?!\/)/g, "")
        .trim(),
    )
    .join(" ");
}

function fence(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``;
}
