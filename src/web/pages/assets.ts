import { fileURLToPath } from "node:url";
import express, { type RequestHandler } from "express";

/** Folder of the page templates, beside `src` and `dist`; `assets` in it is served. */
export const VIEWS_FOLDER = fileURLToPath(new URL("../../../views", import.meta.url));

/** Style, scripts and icon of the pages: no secret in them, and a browser asks each time whether they changed. */
export function assets(): RequestHandler {
  return express.static(`${VIEWS_FOLDER}/assets`, { index: false, redirect: false, maxAge: 0 });
}
