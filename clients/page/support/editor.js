/** What the page takes of CodeMirror. */

export { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { PostgreSQL, SQLDialect, sql } from "@codemirror/lang-sql";
export { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
export { Compartment, EditorState, Prec } from "@codemirror/state";
export { EditorView, drawSelection, keymap, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
