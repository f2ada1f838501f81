import type { Schemas } from "@/api/client";

export type TreeNode = Schemas["TreeNode"];
export type TreeProblem = Schemas["TreeProblem"];
export type TreeShown = Schemas["TreeShown"];
export type TreeKey = Schemas["TreeKey"];
export type TreeBound = Schemas["TreeBoundShape"];

/** The file of a tree is called like it; other files hold the trees that it refers to. */
export function fileOf(treeName: string): string {
  return `${treeName}.lua`;
}

export function treeIn(file: string): string {
  return (file.split("/").at(-1) ?? file).replace(/\.lua$/, "");
}
