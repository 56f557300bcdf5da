// The parts of the vendored libraries that the pages use, under one name.
import { h, render, Fragment } from "./vendor/preact.mjs";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.mjs";
import { batch, computed, effect, signal, useComputed, useSignal } from "./vendor/signals.mjs";
import htm from "./vendor/htm.mjs";

/** Templates: all data in them becomes text nodes and attributes, never markup. */
export const html = htm.bind(h);

export {
  Fragment, batch, computed, effect, render, signal, useComputed, useEffect, useLayoutEffect, useMemo, useRef, useSignal,
  useState,
};
