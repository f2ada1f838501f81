import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/button";
import { chooseTheme, chosenTheme, type Theme } from "./theme";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };
const WORDS = { system: "as the machine has it", light: "light", dark: "dark" };

export function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme);
  const Icon = ICONS[theme];
  const choose = () => {
    chooseTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  const words = `Colours: ${WORDS[theme]}. Change to ${WORDS[NEXT[theme]]}`;
  return (
    <Button look="ghost" size="icon" onClick={choose} aria-label={words} title={words}>
      <Icon aria-hidden className="size-4" />
    </Button>
  );
}
