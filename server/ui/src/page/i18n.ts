import landEn from '../../../../messages/text/en/land.json';
import lockEn from '../../../../messages/text/en/lock.json';
import pageEn from '../../../../messages/text/en/page.json';
import landJa from '../../../../messages/text/ja/land.json';
import lockJa from '../../../../messages/text/ja/lock.json';
import pageJa from '../../../../messages/text/ja/page.json';

export type TextKey = keyof typeof en;

/** What the command line says of landings and locks the page says in the same words. */
type Named<A extends string, T> = { readonly [K in keyof T & string as `${A}.${K}`]: string };
const named = <A extends string, T extends Record<string, string>>(area: A, texts: T): Named<A, T> => Object.fromEntries(Object.entries(texts).map(([k, v]) => [`${area}.${k}`, v])) as Named<A, T>;

const en = { ...named('land', landEn), ...named('lock', lockEn), ...pageEn };
const ja: Readonly<Record<TextKey, string>> = { ...named('land', landJa), ...named('lock', lockJa), ...pageJa };

export type Lang = 'en' | 'ja';

let lang: Lang = 'en';

export function setLang(to: Lang): void {
  lang = to;
}

export const currentLang = (): Lang => lang;

export function t(key: TextKey, facts: Readonly<Record<string, string | number>> = {}): string {
  return fillPlaces((lang === 'ja' ? ja : en)[key], facts);
}

export function fillPlaces(text: string, facts: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (name in facts ? String(facts[name]) : all));
}

/** A word of the API that we have a name for; else the word itself. */
export function word(kind: 'status' | 'state' | 'step' | 'session' | 'diff' | 'task' | 'warning' | 'event' | 'test' | 'test_kind' | 'graph' | 'check' | 'lock_type' | 'log_kind', value: string): string {
  const key = `${kind}.${value}`;
  return key in en ? t(key as TextKey) : value;
}

export function pickLang(wished: string | null, languages: readonly string[]): Lang {
  if (wished === 'ja' || wished === 'en') return wished;
  for (const l of languages) {
    if (l.toLowerCase().startsWith('ja')) return 'ja';
    if (l.toLowerCase().startsWith('en')) return 'en';
  }
  return 'en';
}
