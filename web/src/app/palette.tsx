import { lazy, Suspense, useEffect } from "react";
import { Dialog } from "@/ui/dialog";
import { Loading } from "@/ui/states";

const PaletteList = lazy(() => import("./palette-list"));

type PaletteProps = { isOpen: boolean; onOpenChange: (isOpen: boolean) => void };

/** Everything by its name: Ctrl-K or ⌘-K, from wherever one is. */
export function Palette({ isOpen, onOpenChange }: PaletteProps) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      if (event.shiftKey || event.altKey) return;
      event.preventDefault();
      onOpenChange(!isOpen);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isOpen, onOpenChange]);
  return (
    <Dialog title="Go to" isOpen={isOpen} onOpenChange={onOpenChange}>
      <Suspense fallback={<Loading />}>
        <PaletteList onDone={() => onOpenChange(false)} />
      </Suspense>
    </Dialog>
  );
}
