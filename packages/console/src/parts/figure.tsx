import type { ComponentChildren } from "preact";
import { TEXTS } from "../texts.ts";
import { Name } from "./text.tsx";

/** One value with its title, in a list of figures. */
export function Figure({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The labels of a job or a run; nothing if there are none. */
export function Labels({ of }: { of: Readonly<Record<string, string>> }) {
  const labels = Object.entries(of);
  if (labels.length === 0) return null;
  return (
    <Figure title={TEXTS.labels}>
      {labels.map(([key, value]) => (
        <div key={key}>
          <Name of={`${key}=${value}`} />
        </div>
      ))}
    </Figure>
  );
}
