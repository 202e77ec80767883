import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const ROOT = join(import.meta.dirname, "../..");
/** Sources of the Store port and of the store in PostgreSQL, whose interface adds to the port. */
const SOURCES = [
  "packages/server/src/ports/{store,store-*,leases}.ts",
  "packages/server/src/adapters/sql/sql-store.ts",
];

/** Interfaces of the Store port, as their sources declare them. */
export class StoreInterfaces {
  readonly #byName = new Map<string, ts.InterfaceDeclaration>();

  constructor() {
    for (const path of globSync(SOURCES, { cwd: ROOT })) {
      const text = readFileSync(join(ROOT, path), "utf8");
      for (const statement of ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true).statements)
        if (ts.isInterfaceDeclaration(statement)) this.#byName.set(statement.name.text, statement);
    }
  }

  /** Operations of an interface and of the ports that it holds: `submit`, `queries.getJob`. */
  operationsOf(name: string): string[] {
    return this.#membersOf(name).flatMap((member) => {
      const own = nameOf(member);
      const port = ts.isPropertySignature(member) ? typeOf(member) : null;
      if (port === null) return own;
      return this.operationsOf(port).map((operation) => `${own}.${operation}`);
    });
  }

  /** Fields of an interface, without those that it extends. */
  fieldsOf(name: string): string[] {
    return this.#declared(name).members.map(nameOf);
  }

  #membersOf(name: string): ts.TypeElement[] {
    const declaration = this.#declared(name);
    const bases = declaration.heritageClauses?.flatMap(({ types }) => types.map(({ expression }) => expression)) ?? [];
    return [...bases.flatMap((base) => this.#membersOf(base.getText())), ...declaration.members];
  }

  #declared(name: string): ts.InterfaceDeclaration {
    const declaration = this.#byName.get(name);
    if (declaration === undefined) throw new Error(`no source of the store declares the interface ${name}`);
    return declaration;
  }
}

function nameOf(member: ts.TypeElement): string {
  return member.name?.getText() ?? "";
}

/** Name of the type of a property. */
function typeOf({ type }: ts.PropertySignature): string | null {
  return type !== undefined && ts.isTypeReferenceNode(type) ? type.typeName.getText() : null;
}
