/** At most so many of them, evenly chosen; the first and the last are always there. */
export function thinned<Value>(values: readonly Value[], most: number): Value[] {
  if (values.length <= most) return [...values];
  const steps = Math.max(most, 2) - 1;
  const places = Array.from({ length: steps + 1 }, (_, step) =>
    Math.floor(((values.length - 1) * step) / steps),
  );
  return places.flatMap((place) => values.slice(place, place + 1));
}
