import type { SeriesBody } from "@mainspring/contract";
import { Table } from "../parts/list.tsx";
import { Name } from "../parts/text.tsx";
import { linkTo } from "../state/route.ts";
import { countText } from "../text/figures.ts";
import { totalOf } from "../text/series.ts";
import { TEXTS } from "../texts.ts";

/** Handlers with failures within the hour, most of them first. */
export function FailedHandlers({ failures }: Pick<SeriesBody, "failures">) {
  const rows = failures.map(({ handler, counts }) => ({ handler, count: totalOf(counts) }));
  rows.sort((a, b) => b.count - a.count);
  return (
    <section>
      <h2>{TEXTS.failedByHandler}</h2>
      {rows.length === 0 && <p class="dim">{TEXTS.failedNone}</p>}
      {rows.length > 0 && (
        <Table
          caption={TEXTS.failedByHandler}
          rows={rows}
          keyOf={({ handler }) => handler}
          columns={[
            {
              title: TEXTS.handler,
              cell: ({ handler }) => (
                <a href={linkTo(["executions"], { handler })}>
                  <Name of={handler} />
                </a>
              ),
            },
            { title: TEXTS.count, cell: ({ count }) => countText(count) },
          ]}
        />
      )}
    </section>
  );
}
