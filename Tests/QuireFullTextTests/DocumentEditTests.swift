// Changes of one text, of which only what differs is cut.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("A change of one text of a row") struct DocumentEditTests {
  /// The texts of a row as fields hand them over.
  private struct Texts {
    var texts: [(field: Int, text: String)]

    func forEachText(_ body: (Int, RawSpan) throws -> Void) throws {
      for (field, text) in texts {
        let bytes = Array(text.utf8)
        try unsafe body(field, bytes.span.bytes)
      }
    }
  }

  private func document(_ texts: Texts, _ layout: TextLayout) throws -> DocumentTerms {
    var document = DocumentTerms()
    try document.read("k", layout, texts.forEachText)
    return document
  }

  /// The posting of each term.
  private func postings(_ document: DocumentTerms, _ form: PostingForm) -> [[UInt8]: PostingList] {
    var found: [[UInt8]: PostingList] = [:]
    for place in 0..<document.termCount {
      var list = PostingList()
      document.append(place, of: RowID(1), to: &list, form)
      found[document.term(place)] = list
    }
    return found
  }

  /// Texts of several fields, one of which may have several.
  private func texts(_ random: inout SeededRandom) -> Texts {
    var texts = Texts(texts: [(0, random.words(random.below(6), of: 20)), (1, random.words(random.below(30), of: 20))])
    for _ in 0..<random.below(4) { texts.texts.append((2, random.words(random.below(5), of: 20))) }
    return texts
  }

  /// Changes one of the texts: words come, go and change, at any place.
  private func change(_ texts: Texts, _ random: inout SeededRandom) -> Texts {
    var changed = texts
    let index = random.below(texts.texts.count)
    var words = texts.texts[index].text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let start = random.below(words.count + 1)
    let end = min(words.count, start + random.below(3))
    words.replaceSubrange(start..<end, with: (0..<random.below(3)).map { _ in random.words(1, of: 20) })
    changed.texts[index].text = words.joined(separator: random.oneIn(8) ? " \t" : " ")
    if random.oneIn(6) { changed.texts[index].text += random.oneIn(2) ? "." : " " }
    return changed
  }

  @Test("It has the records of both texts, and the postings that differ", arguments: PostingDetail.allCases)
  func equalsWholeDocuments(_ detail: PostingDetail) throws {
    var random = SeededRandom(seed: 61)
    var (editCount, sparedCount, wrongCount) = (0, 0, 0)
    func hasWords(_ text: String) -> Bool { text.contains { $0.isLetter || $0.isNumber } }
    for hasOtherForms in [false, true] {
      let layout = MemoText.memos(detail, tokenizer: PlainTokenizer(hasOtherForms: hasOtherForms)).layout
      for _ in 0..<TestSize.trials(4_000) {
        let old = texts(&random)
        let new = change(old, &random)
        let (before, now) = (try RowTexts(old.forEachText), try RowTexts(new.forEachText))
        guard let textEdit = now.edit(from: before) else {
          #expect(zip(old.texts, new.texts).allSatisfy { $0.text == $1.text })
          continue
        }
        editCount += 1
        let (oldWhole, newWhole) = (try document(old, layout), try document(new, layout))
        let edit = try DocumentEdit("k", layout, now, before: before, textEdit, in: DocumentTerms())
        #expect(edit.newRecord == newWhole.record)
        guard edit.oldRecord == oldWhole.record else {
          // The gap between the texts of a field is not guessed where one of them has no words any more, or had none.
          let (before, now) = (old.texts[textEdit.text], new.texts[textEdit.text])
          #expect(now.field == 2 && (!hasWords(before.text) || !hasWords(now.text)), "\(before), \(now)")
          wrongCount += 1
          continue
        }
        guard edit.newRecord != nil, edit.oldRecord != nil else { continue }
        var (oldTerms, newTerms) = (DocumentTerms(), DocumentTerms())
        edit.copyChangedTerms(to: &oldTerms, &newTerms)
        let (oldFound, newFound) = (postings(oldTerms, layout.form), postings(newTerms, layout.form))
        let (oldAll, newAll) = (postings(oldWhole, layout.form), postings(newWhole, layout.form))
        // What is there is as it is in the whole, and what is not does not differ.
        for term in Set(oldAll.keys).union(newAll.keys) {
          if oldFound[term] == nil, newFound[term] == nil {
            #expect(oldAll[term] == newAll[term])
            sparedCount += 1
          } else {
            #expect(oldFound[term] == oldAll[term] && newFound[term] == newAll[term])
          }
        }
        #expect(Set(oldFound.keys).isSubset(of: oldAll.keys) && Set(newFound.keys).isSubset(of: newAll.keys))
      }
    }
    #expect(editCount > 500 && sparedCount > editCount && wrongCount < editCount / 5)
  }

  /// Cuts at spaces, and marks each word with the length of the whole text: what stands anywhere changes every token.
  private struct FarTokenizer: Tokenizer {
    let identity = "far/1"

    func forEachToken(
      in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
    ) throws {
      let mark = UInt8(ascii: "a") + UInt8(text.byteCount % 26)
      try PlainTokenizer().forEachToken(in: text, for: purpose) { term, place in
        let marked = term.copied + [mark]
        try unsafe body(marked.span.bytes, place)
      }
    }
  }

  @Test("Where tokens depend on what is far away, the old record is another one, and all is compared")
  func noticesWrongGuesses() throws {
    var random = SeededRandom(seed: 62)
    let text = MemoText.memos(tokenizer: FarTokenizer())
    let db = try Database.inMemory()
    try db.register(text)
    var body = "first " + random.words(20, of: 30) + " last"
    try db.write { tx in try tx[.memos].set(Memo(title: "title", body: body, tags: ["tag"]), for: "k") }
    var wrongCount = 0
    for _ in 0..<60 {
      let old = Texts(texts: [(1, body)])
      body = change(old, &random).texts[0].text
      let (before, now) = (try RowTexts(old.forEachText), try RowTexts(Texts(texts: [(1, body)]).forEachText))
      if let textEdit = now.edit(from: before) {
        let edit = try DocumentEdit("k", text.layout, now, before: before, textEdit, in: DocumentTerms())
        if edit.oldRecord != (try document(old, text.layout)).record { wrongCount += 1 }
      }
      try db.write { tx in try tx[.memos].set(Memo(title: "title", body: body, tags: ["tag"]), for: "k") }
      try db.verify(text)
    }
    #expect(wrongCount > 20)
    try db.close()
  }

  @Test("A change told with an old text that is not the stored one is refused")
  func refusesForeignTexts() throws {
    let text = MemoText.memos()
    let db = try Database.inMemory()
    try db.register(text)
    func texts(_ body: String) -> Texts { Texts(texts: [(1, body)]) }
    try db.write { tx in try tx[.memos].set(Memo(title: "", body: "one two three", tags: []), for: "k") }
    let row = try db.read { tx in try #require(tx[.memos].rowIDs.first) }
    let error = fullTextError {
      try db.write { tx in
        let upkeep = try tx.access(to: text).upkeep
        try upkeep.willChange(row, "k", texts("one four three").forEachText)
        try upkeep.didChange(row, "k", isInsert: false, texts("one five three").forEachText)
      }
    }
    guard case .foreignTokens = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    try db.verify(text)
    try db.close()
  }
}
