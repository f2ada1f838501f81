import type { ButtonHTMLAttributes, Ref } from "react";
import { cx } from "./cx";

type Look = "primary" | "plain" | "ghost" | "stop";

const LOOKS: Record<Look, string> = {
  primary: "bg-accent text-accent-ink hover:brightness-110",
  plain: "bg-panel text-ink border border-line hover:bg-canvas",
  ghost: "text-ink-soft hover:bg-line/50 hover:text-ink",
  stop: "bg-stop-soft text-stop border border-stop/40 hover:brightness-95",
};

export type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: Look;
  size?: "normal" | "small" | "icon";
  ref?: Ref<HTMLButtonElement>;
};

export function Button({
  look = "plain",
  size = "normal",
  className,
  type = "button",
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      className={cx(
        "inline-flex items-center justify-center gap-1.5 rounded-control font-medium transition select-none",
        "disabled:opacity-50 disabled:cursor-not-allowed",
        size === "normal" && "h-9 px-3.5 text-sm",
        size === "small" && "h-7 px-2.5 text-xs",
        size === "icon" && "size-9 shrink-0",
        LOOKS[look],
        className,
      )}
      {...rest}
    />
  );
}
