import type { TargetedSubmitEvent } from "preact";
import { narrow, route } from "../state/route.ts";
import { TEXTS } from "../texts.ts";

export interface Filter {
  name: string;
  label: string;
  /** Closed list of values; left out: any text. */
  values?: readonly string[];
  hint?: string;
}

/** Filters of a list, which are part of the address. */
export function Filters({ filters }: { filters: readonly Filter[] }) {
  const { query } = route.value;
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    narrow(Object.fromEntries(filters.map(({ name }) => [name, String(given.get(name) ?? "").trim()])));
  };
  const clear = () => narrow(Object.fromEntries(filters.map(({ name }) => [name, undefined])));
  const isFiltered = filters.some(({ name }) => query[name] !== undefined);
  return (
    <form class="filters" onSubmit={submit} key={JSON.stringify(query)}>
      {filters.map((filter) => (
        <label key={filter.name}>
          <span>{filter.label}</span>
          <FilterField filter={filter} value={query[filter.name] ?? ""} />
        </label>
      ))}
      <button type="submit">{TEXTS.apply}</button>
      {isFiltered && (
        <button type="button" class="quiet" onClick={clear}>
          {TEXTS.clear}
        </button>
      )}
    </form>
  );
}

function FilterField({ filter: { name, values, hint }, value }: { filter: Filter; value: string }) {
  if (values === undefined) return <input name={name} defaultValue={value} placeholder={hint} maxLength={255} />;
  return (
    <select name={name} defaultValue={value} onChange={(event) => narrow({ [name]: event.currentTarget.value })}>
      <option value="">{TEXTS.all}</option>
      {values.map((one) => (
        <option key={one} value={one} selected={one === value}>
          {one}
        </option>
      ))}
    </select>
  );
}
