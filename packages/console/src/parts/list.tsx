import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Page } from "../api/answers.ts";
import { queryOf } from "../api/client.ts";
import { linkTo, route } from "../state/route.ts";
import { type Answer, useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { TEXTS } from "../texts.ts";
import { Empty, Failure, Loading } from "./failure.tsx";
import type { Filter } from "./filters.tsx";

/** Rows of a list that are in the document at once. */
export const ROWS = 100;

export interface Column<T> {
  title: string;
  cell(row: T): ComponentChildren;
}

interface TableProps<T> {
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf(row: T): string;
  /** Content below the table, which appears with its last row, so that a link there does not move away from the pointer. */
  end?: VNode | null;
}

/** Rows of a table that one frame adds, so that a table of many rows never keeps the browser from answering the user. */
const ROWS_A_FRAME = 5;

/** Number of rows that are shown so far, which grows with each frame up to `count` and stays there while rows change. */
function useGrowing(count: number): number {
  const [shown, setShown] = useState(ROWS_A_FRAME);
  useEffect(() => {
    if (shown >= count) return undefined;
    const frame = requestAnimationFrame(() => setShown(shown + ROWS_A_FRAME));
    return () => cancelAnimationFrame(frame);
  }, [shown, count]);
  return Math.min(shown, count);
}

/** A table that scrolls sideways within itself on a narrow window. */
export function Table<T>({ caption, columns, rows, keyOf, end }: TableProps<T>): VNode {
  const shown = useGrowing(rows.length);
  return (
    <>
      <section class="scroll" aria-label={caption} tabIndex={0}>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ title }) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row) => (
              <Row key={keyOf(row)} row={row} columns={columns} />
            ))}
          </tbody>
        </table>
      </section>
      {shown === rows.length && end}
    </>
  );
}

/** A row, which is not compared again while the table grows. */
function Row<T>({ row, columns }: Pick<TableProps<T>, "columns"> & { row: T }): VNode {
  const made = () => (
    <tr>
      {columns.map(({ title, cell }) => (
        <td key={title}>{cell(row)}</td>
      ))}
    </tr>
  );
  return useMemo(made, [row, columns]);
}

/** Factor of the interval of a list while each answer differs. */
const BUSY = 1.5;

/**
 * The page of a list of the server that the address of this page asks for.
 * @param everyMs interval in milliseconds in which the first page is asked for again, one and a half times as long while the list changes
 * all the time; null: it is not
 */
export function useList<T>(path: string, filters: readonly Filter[], everyMs: number | null = null): Answer<Page<T>> {
  const { cursor, ...query } = route.value.query;
  const fields = Object.fromEntries(filters.map(({ name }) => [name, query[name]]));
  const asked = `${path}${queryOf({ ...fields, cursor, limit: ROWS })}`;
  const isLive = everyMs !== null && cursor === undefined;
  return useAnswer<Page<T>>(asked, isLive ? { everyMs, busyMs: BUSY * everyMs } : null);
}

interface ListProps<T> extends Omit<TableProps<T>, "rows" | "end"> {
  answer: Answer<Page<T>>;
  empty: { title: string; help: string };
}

/** A page of a list of the server, with the way to the next page. */
export function List<T>({ answer, empty, ...table }: ListProps<T>): VNode {
  const { data, failure, reload } = answer;
  const isEmpty = data?.items.length === 0;
  const pager = data && <Pager next={data.nextCursor} />;
  return (
    <>
      <Failure of={failure} retry={reload} />
      {data === null && failure === null && <Loading />}
      {isEmpty && <Empty {...empty} />}
      {isEmpty && pager}
      {data !== null && !isEmpty && <Table {...table} rows={data.items.slice(0, ROWS)} end={pager} />}
    </>
  );
}

function Pager({ next }: { next: string | null }) {
  const { path, query } = route.value;
  const { cursor, ...filters } = query;
  if (next === null && cursor === undefined) return null;
  return (
    <nav class="row" aria-label={TEXTS.next}>
      {cursor !== undefined && <a href={linkTo(path, filters)}>{TEXTS.first}</a>}
      {next !== null && <a href={linkTo(path, { ...filters, cursor: next })}>{TEXTS.next}</a>}
    </nav>
  );
}

interface Part {
  from: number;
  to: number;
  controls: VNode | null;
}

/**
 * A window on a long list in memory.
 * @param beginsAt end of the list that it shows first
 */
export function usePart(count: number, beginsAt: "START" | "END" = "END"): Part {
  const [turn, setTurn] = useState(0);
  const [from, to] = partAt(count, turn, beginsAt);
  if (count <= ROWS) return { from: 0, to: count, controls: null };
  const [earlier, later] = beginsAt === "END" ? [turn + 1, turn - 1] : [turn - 1, turn + 1];
  const controls = (
    <p class="row">
      <button type="button" disabled={from === 0} onClick={() => setTurn(earlier)}>
        {TEXTS.earlier}
      </button>
      <span>{TEXTS.rowsOf(countText(from + 1), countText(to), countText(count))}</span>
      <button type="button" disabled={to === count} onClick={() => setTurn(later)}>
        {TEXTS.later}
      </button>
    </p>
  );
  return { from, to, controls };
}

function partAt(count: number, turn: number, beginsAt: "START" | "END"): [from: number, to: number] {
  if (beginsAt === "START") {
    const from = Math.min(turn, Math.floor(Math.max(0, count - 1) / ROWS)) * ROWS;
    return [from, Math.min(count, from + ROWS)];
  }
  const to = Math.max(Math.min(ROWS, count), count - turn * ROWS);
  return [Math.max(0, to - ROWS), to];
}
