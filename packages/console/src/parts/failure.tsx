import type { RequestFailed } from "../api/client.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

/** An error with its problem document, and a way on. */
export function Failure({ of, retry }: { of: RequestFailed | null; retry?: () => void }) {
  if (of === null) return null;
  const { type, title, status, detail, errors = [] } = of.problem;
  return (
    <div class="failure" role="alert">
      <strong>
        {title}
        {status > 0 && ` (${status})`}
      </strong>
      {detail !== undefined && <p>{visible(detail)}</p>}
      {errors.length > 0 && (
        <ul>
          {errors.slice(0, 20).map(({ field, message }) => (
            <li key={field}>
              <code>{visible(field)}</code> {visible(message)}
            </li>
          ))}
        </ul>
      )}
      <p class="row">
        {retry !== undefined && (
          <button type="button" onClick={retry}>
            {TEXTS.reload}
          </button>
        )}
        {type.startsWith("/problems/") && <a href={`..${type}`}>{TEXTS.whatItMeans}</a>}
      </p>
    </div>
  );
}

/** The state of a list without rows: the cause, and the next thing to do. */
export function Empty({ title, help }: { title: string; help?: string }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {help !== undefined && <p>{help}</p>}
    </div>
  );
}

export function Loading() {
  return (
    <p class="dim" role="status">
      {TEXTS.loading}…
    </p>
  );
}
