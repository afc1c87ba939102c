/** The field in which SQL is written. */

import { FUNCTIONS, KEYWORDS, complete } from "./completion.js";
import { element } from "./dom.js";
import {
  EditorState, EditorView, HighlightStyle, Prec, SQLDialect, autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, defaultKeymap, drawSelection,
  history, historyKeymap, keymap, sql, syntaxHighlighting, tags,
} from "./vendor/editor.js";

const dialect = SQLDialect.define({ keywords: KEYWORDS.join(" ").toLowerCase(), builtin: FUNCTIONS.join(" ").toLowerCase(), types: "" });

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--series-1)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--series-3)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--series-2)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--series-5)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { fontSize: "0.95rem", color: "var(--text)", backgroundColor: "var(--ground)", border: "1px solid var(--line)", borderRadius: "0.4rem" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { fontFamily: "var(--mono)", minHeight: "6.5rem", padding: "0.6rem 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 0.75rem" },
  ".cm-scroller": { overflow: "auto", maxHeight: "22rem", lineHeight: "1.5" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket": { backgroundColor: "var(--mark) !important", outline: "1px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", color: "var(--text)", maxWidth: "90vw" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "0.85rem", maxHeight: "16rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.5rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8", fontStyle: "normal", marginLeft: "1em" },
});

/**
 * An editor: its element, `read()` and `write(sql)`, `mark(place)`, which puts the caret where an error is, and `focus()`.
 *
 * tables: as `readSurvey` and `readLookup` give them.  ask(): for Ctrl-Enter.  recall(step): the question before (-1) or after this one in the
 * history, if there is one.
 */
export function makeEditor(text, { tables, ask, recall }) {
  // The editor makes style sheets, which the content policy lets into a shadow tree alone, as objects.
  const host = element("div", { class: "editor" }), root = host.attachShadow({ mode: "open" });
  const write = (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: next.length } });
  const bring = (step) => () => {
    const found = recall(step);
    if (found !== undefined) write(found);
    return true;
  };
  const keys = [
    { key: "Mod-Enter", run: (own) => { closeCompletion(own); ask(); return true; } },
    { key: "Alt-ArrowUp", run: bring(-1) },
    { key: "Alt-ArrowDown", run: bring(1) },
  ];
  const source = ({ state, pos, explicit }) => complete(state.sliceDoc(0, pos), state.sliceDoc(pos), tables, explicit);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of(keys)),
        history(), drawSelection(), bracketMatching(), closeBrackets(),
        autocompletion({ override: [source], icons: false }),
        sql({ dialect }), syntaxHighlighting(colours), theme, EditorView.lineWrapping,
        // Tab goes to what comes next on the page, as everywhere.
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false", autocapitalize: "off" }),
      ],
    }),
  });
  return {
    element: host,
    read: () => view.state.doc.toString(),
    write,
    focus: () => view.focus(),
    mark: ([line, column, length]) => {
      if (line > view.state.doc.lines) return;
      const { from, to } = view.state.doc.line(line), start = Math.min(from + column - 1, to);
      view.dispatch({ selection: { anchor: start, head: Math.min(start + length, to) }, scrollIntoView: true });
    },
  };
}
