// How good the order is in which full text hands out what it finds, beside FTS5.

internal import ArgumentParser
internal import Foundation

/// Measures relevance.
struct RelevanceBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relevance", abstract: "Measures how good the order of what full text finds is.",
    discussion: """
      Either of a collection with judgements, a folder with cran.all.1400, cran.qry and cranqrel, or of packages of \
      Debian, whose descriptions are to be found by their summaries. compare-search --relevance measures other engines.
      """)

  @Option(help: "The folder of a collection with judgements.")
  var collection: String?
  @Option(help: "Packages, as Benchmarks/make-search-texts writes them.")
  var packages: String?
  @Option(help: "How many questions are made of packages.")
  var questions = 1000
  @Option(help: "Some of \(SearchBench.all.map { $0.name }.joined(separator: ", ")); all if absent.")
  var stores: String?
  @Option(help: "Writes the table to this file as Markdown.")
  var markdown: String?
  @Option(help: "Writes the collection into this folder, for compare-search, and measures nothing.")
  var write: String?

  func validate() throws {
    guard (collection == nil) != (packages == nil), questions >= 1 else {
      throw ValidationError("Either --collection or --packages is needed, and --questions must be positive.")
    }
  }

  func run() throws {
    let stores = try chosen(self.stores, among: SearchBench.all, named: { $0.name })
    let judged =
      if let collection {
        try RelevanceCollection(folder: collection)
      } else {
        try RelevanceCollection(packages: SearchTexts(path: packages ?? ""), questions: questions)
      }
    if let write { return try judged.write(to: write) }
    var lines = ["| | nDCG@10 | MAP | P@5 |", "|---|--:|--:|--:|"]
    try withWorkDirectory(nil) { folder in
      for store in stores {
        let relevance = try Self.measure(store, judged, "\(folder)/\(store.name)")
        let figures = [relevance.gain, relevance.averagePrecision, relevance.precisionAtFive]
        lines.append("| \(store.name) | " + figures.map { String(format: "%.4f", $0) }.joined(separator: " | ") + " |")
      }
    }
    let heading = "\(judged.texts.count) texts, \(judged.questions.count) questions; the higher the better.\n\n"
    let text = heading + lines.joined(separator: "\n") + "\n"
    print(text)
    if let markdown { try text.write(toFile: markdown, atomically: true, encoding: .utf8) }
  }

  /// Stores a collection in an empty folder, and asks its questions.
  static func measure(
    _ type: any SearchedStore.Type, _ collection: RelevanceCollection, _ folder: String
  ) throws -> Relevance {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let store = try type.init(folder, cacheSize: 64 << 20)
    let changes = collection.texts.enumerated().map { TextChange(number: $0.offset, text: $0.element, old: nil) }
    try store.store(changes[...])
    try store.makeFullText()
    let relevance = try Relevance(of: store, collection)
    try store.close()
    return relevance
  }
}
