import { join, sep } from "node:path";
import ts from "typescript";

/** Entries of packages whose exports the page describes. */
const PACKAGES = ["sdk", "sdk/sql", "testkit"] as const;
export type Entry = (typeof PACKAGES)[number];

const ROOT = join(import.meta.dirname, "../..");

/** Declarations that the page describes. */
export type Declaration =
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.FunctionDeclaration
  | ts.VariableDeclaration;

/** A named export of a package. */
export interface Export {
  name: string;
  /** Declarations: several for the overloads of a function. */
  declarations: Declaration[];
  /** Whether only the type is exported, so that programs cannot construct the class. */
  isType: boolean;
}

/** Sources of the SDK and the test kit, and what their names stand for. */
export class SdkSources {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  constructor() {
    const options: ts.CompilerOptions = { noLib: true, types: [], allowImportingTsExtensions: true, noEmit: true };
    const host = ts.createCompilerHost(options, true);
    host.resolveModuleNameLiterals = (names, from) =>
      names.map(({ text }) => {
        const resolvedFileName = sourceOf(text, from);
        return { resolvedModule: resolvedFileName === null ? undefined : { resolvedFileName, extension: ".ts" } };
      });
    this.#program = ts.createProgram(PACKAGES.map(indexOf), options, host);
    this.#checker = this.#program.getTypeChecker();
  }

  /** Exports of a package, in the order of their names. */
  exportsOf(name: Entry): Export[] {
    const index = this.#program.getSourceFile(indexOf(name));
    const module = index && this.#checker.getSymbolAtLocation(index);
    if (module === undefined) throw new Error(`${indexOf(name)} exports nothing`);
    const found = this.#checker.getExportsOfModule(module).map((symbol) => this.#exportOf(symbol));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Declarations of these packages that a node names, without type parameters. */
  namedIn(node: ts.Node): Export[] {
    const found: Export[] = [];
    const visit = (part: ts.Node) => {
      if (ts.isIdentifier(part)) found.push(...this.#describable(part));
      ts.forEachChild(part, visit);
    };
    visit(node);
    return found;
  }

  #describable(name: ts.Identifier): Export[] {
    const symbol = this.#checker.getSymbolAtLocation(name);
    if (symbol === undefined) return [];
    const found = this.#exportOf(symbol);
    const isType = ({ parent }: ts.Node) => ts.isTypeReferenceNode(parent) || ts.isExpressionWithTypeArguments(parent);
    return found.declarations.length > 0 && isType(name) ? [found] : [];
  }

  #exportOf(symbol: ts.Symbol): Export {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    const target = isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol;
    const isType = symbol.declarations?.some((node) => ts.isTypeOnlyExportDeclaration(node)) ?? false;
    return { name: symbol.name, declarations: target.declarations?.filter(isDescribed) ?? [], isType };
  }
}

function isDescribed(node: ts.Node): node is Declaration {
  return (
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isVariableDeclaration(node)
  );
}

function indexOf(name: Entry): string {
  const [folder = "", ...part] = name.split("/");
  return slashed(ROOT, "packages", folder, "src", ...part, "index.ts");
}

/** Source of a module. Modules of other packages are not read: the page prints types as the sources name them. */
function sourceOf(module: string, from: string): string | null {
  if (module.startsWith(".")) return slashed(from, "..", module);
  return module === "@mainspring/sdk" ? indexOf("sdk") : null;
}

/** Path with `/` on every platform, as the compiler writes paths. */
function slashed(...parts: string[]): string {
  return join(...parts).replaceAll(sep, "/");
}
