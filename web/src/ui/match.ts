/** How well an entry of a list fits what somebody types: every word has to be in it, as it is written. */
export function matched(value: string, typed: string, keywords: readonly string[] = []): number {
  const [name = value, ...more] = keywords.length > 0 ? keywords : [value];
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const title = name.toLowerCase();
  const all = [value, name, ...more].join(" ").toLowerCase();
  if (!words.every((word) => all.includes(word))) return 0;
  if (words.some((word) => title.startsWith(word))) return 1;
  return words.every((word) => title.includes(word)) ? 0.8 : 0.5;
}
