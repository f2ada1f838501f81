/** Light or dark: as the machine has it, until somebody chooses. */
export type Theme = "light" | "dark" | "system";

const PLACE = "endstop.theme";
const asMachine = window.matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  const kept = window.localStorage.getItem(PLACE);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") window.localStorage.removeItem(PLACE);
  else window.localStorage.setItem(PLACE, theme);
  applyTheme();
}

export function applyTheme(): void {
  const chosen = chosenTheme();
  const isDark = chosen === "dark" || (chosen === "system" && asMachine.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}

asMachine.addEventListener("change", applyTheme);
