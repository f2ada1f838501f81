import {
  ChevronsDownUp,
  ChevronsUpDown,
  Crosshair,
  type LucideIcon,
  Maximize,
  Minus,
  Plus,
} from "lucide-react";
import type { Folds } from "./use-folds";
import type { Look } from "./use-look";

type DrawingControlsProps = { look: Look; folds: Folds; canFollow: boolean };

/** Buttons over the drawing. */
export function DrawingControls({ look, folds, canFollow }: DrawingControlsProps) {
  return (
    <div
      role="toolbar"
      aria-label="The drawing"
      className="absolute top-2 right-2 flex rounded-control border border-line bg-panel shadow-raised"
    >
      {canFollow && (
        <Control
          words="Follow what is running"
          Icon={Crosshair}
          isOn={look.isFollowing}
          onPress={() => look.setFollowing(!look.isFollowing)}
        />
      )}
      <Control
        words="Open all"
        Icon={ChevronsUpDown}
        onPress={folds.openAll}
        isOff={folds.folded.size === 0}
      />
      <Control words={folds.againWords} Icon={ChevronsDownUp} onPress={look.foldAgain} />
      <Control words="Zoom in" Icon={Plus} onPress={() => look.zoom("in")} />
      <Control words="Zoom out" Icon={Minus} onPress={() => look.zoom("out")} />
      <Control words="Show all of it" Icon={Maximize} onPress={look.fit} />
    </div>
  );
}

type ControlProps = { words: string; Icon: LucideIcon; onPress: () => void; isOn?: boolean; isOff?: boolean };

function Control({ words, Icon, onPress, isOn, isOff = false }: ControlProps) {
  return (
    <button
      type="button"
      aria-label={words}
      title={words}
      aria-pressed={isOn}
      disabled={isOff}
      onClick={onPress}
      className="flex size-8 items-center justify-center rounded-control text-ink-soft hover:bg-line/50 hover:text-ink disabled:opacity-40 aria-pressed:bg-accent-soft aria-pressed:text-accent"
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
