import en from '../../../../messages/text/en/page.json';
import ja from '../../../../messages/text/ja/page.json';

export type TextKey = keyof typeof en;

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
export function word(kind: 'status' | 'state' | 'step' | 'session' | 'diff' | 'task' | 'warning', value: string): string {
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
