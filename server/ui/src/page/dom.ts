/** Nodes by hand. Text becomes text nodes; nothing here or elsewhere parses HTML. */
export type Child = Node | string | number | false | null | undefined | readonly Child[];
export type Props = Readonly<Record<string, unknown>>;

const SVG = 'http://www.w3.org/2000/svg';

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props?: Props | null,
  ...kids: Child[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  apply(el, props);
  add(el, kids);
  return el;
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props?: Props | null,
  ...kids: Child[]
): SVGElementTagNameMap[K] {
  const el = document.createElementNS(SVG, tag);
  apply(el, props);
  add(el, kids);
  return el;
}

function apply(el: Element, props: Props | null | undefined): void {
  for (const [name, value] of Object.entries(props ?? {})) set(el, name, value);
}

function set(el: Element, name: string, value: unknown): void {
  if (value === undefined || value === null || value === false) return;
  if (typeof value === 'function') {
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value as EventListener);
    return;
  }
  if (name.startsWith('on') || name === 'style' || name === 'srcdoc') return; // never as text
  if (name === 'href' && !isSafeHref(String(value))) return;
  if (name === 'value' && 'value' in el) {
    (el as HTMLInputElement).value = String(value);
    return;
  }
  el.setAttribute(name, value === true ? '' : String(value));
}

/** Addresses of this page, and http(s) and mailto ones; never javascript: or data:. */
export function isSafeHref(href: string): boolean {
  // Browsers drop these before they look for a scheme, so we do too.
  const bare = [...href].filter((c) => c.charCodeAt(0) > 0x20).join('');
  if (/^(https?:\/\/|mailto:)/i.test(bare)) return true;
  return !/^[^/?#]*:/.test(bare) && !bare.startsWith('//') && !bare.startsWith('\\') && !bare.startsWith('/\\');
}

export function add(el: Node, kids: readonly Child[]): void {
  for (const kid of kids) {
    if (kid === null || kid === undefined || kid === false) continue;
    if (Array.isArray(kid)) add(el, kid as readonly Child[]);
    else if (kid instanceof Node) el.appendChild(kid);
    else el.appendChild(document.createTextNode(String(kid)));
  }
}

export function fill(el: Element, ...kids: Child[]): void {
  const made = document.createDocumentFragment();
  add(made, kids);
  el.replaceChildren(made);
}

/** fill, but only when what it would show differs; key says what that is. */
export function fillIf(el: HTMLElement, key: string, make: () => Child): void {
  if (shown.get(el) === key) return;
  shown.set(el, key);
  const at = document.activeElement;
  const mark = at instanceof HTMLElement && el.contains(at) ? at.dataset['key'] : undefined;
  fill(el, make());
  if (mark !== undefined) el.querySelector<HTMLElement>(`[data-key="${CSS.escape(mark)}"]`)?.focus({ preventScroll: true });
}

const shown = new WeakMap<Element, string>();

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
