/** Part of a drawing that a window shows. */
export interface Viewport {
  x: number;
  y: number;
  /** Pixels of the window for each unit of the drawing. */
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

const SCALE_MAX = 2;
/** Empty border around the drawing when all of it is shown, in pixels. */
const BORDER = 16;

/** All of a drawing, in the middle of the window, and not larger than its own size. */
export function whole(drawing: Size, window: Size): Viewport {
  const fit = (of: number, within: number) => Math.max(1, within - 2 * BORDER) / Math.max(1, of);
  const scale = Math.min(1, fit(drawing.width, window.width), fit(drawing.height, window.height));
  return {
    x: (drawing.width - window.width / scale) / 2,
    y: (drawing.height - window.height / scale) / 2,
    scale,
  };
}

/** Zooms, so that a point of the window keeps showing the same place. */
export function zoomed(
  { x, y, scale }: Viewport,
  factor: number,
  at: { x: number; y: number },
  least: number,
): Viewport {
  const next = Math.min(SCALE_MAX, Math.max(least, scale * factor));
  return { x: x + at.x / scale - at.x / next, y: y + at.y / scale - at.y / next, scale: next };
}

/** Moves the window over the drawing. @param by movement of the pointer, in pixels */
export function moved({ x, y, scale }: Viewport, by: { x: number; y: number }): Viewport {
  return { x: x - by.x / scale, y: y - by.y / scale, scale };
}
