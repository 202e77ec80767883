import type { Mutant } from "./mutant.ts";

const SERVER = "packages/server/src";
const CHAIN = `${SERVER}/ports/audit-chain.ts`;
const CHAIN_TEST = { file: `${SERVER}/ports/audit-chain.test.ts`, name: "survives any order of fates" };
const TRAIL = `${SERVER}/adapters/sql/audit/audit-trail.ts`;
const ANCHORS = `${SERVER}/security/audit-anchors.ts`;

/** Mutants in the audit log. */
export const auditMutants: readonly Mutant[] = [
  {
    name: "a record of the audit log is written outside the transaction",
    file: TRAIL,
    find: `      const head = await writeEntry(entry, writerOf(session, added));
      await Promise.all([...added, commit()]);`,
    replace: `      await commit();
      const head = await writeEntry(entry, writerOf(session, added));
      await Promise.all(added);`,
    why: "a change can be durable without its record",
    test: {
      file: `${SERVER}/adapters/sql/audit/audit.test.ts`,
      name: "has VOID in the place of a transaction that failed at its very end, and the change did not happen",
    },
  },
  {
    name: "the place of a transaction in doubt is left empty",
    file: CHAIN,
    find: "      this.#doubtful = [...this.#doubtful, ...places.map(({ seq }) => ({ seq, at }))];\n",
    replace: "",
    why: "a chain has gaps that nobody made, so a verification finds faults where there are none",
    test: CHAIN_TEST,
  },
  {
    name: "the place of a transaction in doubt is used again",
    file: CHAIN,
    find: `    } catch (error) {
      this.#seq += places.length;
      this.#doubtful = [...this.#doubtful, ...places.map(({ seq }) => ({ seq, at }))];`,
    replace: "    } catch (error) {",
    why: "two records have one place where the first transaction was committed after all",
    test: CHAIN_TEST,
  },
  {
    name: "an anchor seals stale heads",
    file: ANCHORS,
    find: "const content = { number: (last?.number ?? 0) + 1, at, heads, floors,",
    replace: "const content = { number: (last?.number ?? 0) + 1, at, heads: last?.heads ?? heads, floors,",
    why: "the newest records can be removed, and no anchor shows it",
    test: {
      file: `${SERVER}/security/audit-anchors.test.ts`,
      name: "seal what has moved since the anchor before, each minute, and chain the anchors",
    },
  },
  {
    name: "months of the audit log are removed without an anchor",
    file: ANCHORS,
    find: "if (floors.length === 0 || !(await this.seal(floors))) return;",
    replace: "if (floors.length === 0) return;",
    why: "a verification misses the records that retention has removed",
    test: {
      file: `${SERVER}/security/audit-anchors.test.ts`,
      name: "remove months only behind an anchor that names their last records",
    },
  },
];
