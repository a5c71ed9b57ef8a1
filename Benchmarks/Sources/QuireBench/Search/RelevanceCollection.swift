// Texts with questions and what people, or their authors, say that answers them.

internal import Foundation

/// A collection to judge ranking by.
struct RelevanceCollection {
  /// A question, and how good an answer each text is, by its number; those without a grade are none.
  struct Question {
    let text: String
    let grades: [Int: Double]
  }

  var texts: [SearchText] = []
  var questions: [Question] = []

  /// Reads a collection in the form that Cornell's SMART system had: a folder with one file of documents, one of
  /// questions and one of judgements. Names are those of the Cranfield collection (1,400 abstracts on aerodynamics, 225
  /// questions), which stands in many places of the net and is no part of this project.
  ///
  /// Judgements are lines of question, document and grade. Questions have the numbers of their places, whatever the
  /// file says. A higher grade is a better answer; what is below 1 answers nothing.
  init(folder: String) throws {
    let documents = try Self.entries("\(folder)/cran.all.1400")
    texts = documents.map { SearchText(name: "", summary: $0["T"] ?? "", body: $0["W"] ?? "") }
    var grades: [Int: [Int: Double]] = [:]
    for (number, line) in try Self.lines("\(folder)/cranqrel").enumerated() {
      let parts = line.split { $0 == " " || $0 == "\t" }.compactMap { Double($0) }
      if parts.isEmpty { continue }
      try expect(parts.count == 3, "\(folder)/cranqrel, line \(number + 1): question, document and grade are missing")
      if parts[2] >= 1 { grades[Int(parts[0]), default: [:]][Int(parts[1]) - 1] = parts[2] }
    }
    for (index, entry) in try Self.entries("\(folder)/cran.qry").enumerated() {
      guard let own = grades[index + 1] else { continue }
      questions.append(Question(text: entry["W"] ?? "", grades: own))
    }
    try expect(!texts.isEmpty && !questions.isEmpty, "\(folder) has no texts, or no questions that are judged")
  }

  /// Makes a collection of packages: who knows what a package is for in one line is to find it by its long description,
  /// from which that line is taken away. All packages with the same description are right.
  init(packages: SearchTexts, questions count: Int) throws {
    var numbers: [String: [Int]] = [:]
    for package in packages.originals {
      var body = package.body
      if body.hasPrefix(package.summary) { body.removeFirst(package.summary.count) }
      let text = SearchText(name: "", summary: "", body: body)
      numbers[body, default: []].append(texts.count)
      texts.append(text)
    }
    // What has no long description is found by nothing.
    let places = texts.indices.filter { texts[$0].body.utf8.count > 100 }
    for place in stride(from: 0, to: places.count, by: max(1, places.count / count)) {
      let number = places[place]
      let right = numbers[texts[number].body] ?? []
      questions.append(
        Question(
          text: packages.originals[number].summary, grades: Dictionary(uniqueKeysWithValues: right.map { ($0, 1) })))
    }
  }

  /// Writes the three files of a collection into a folder.
  func write(to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let documents = texts.enumerated().map {
      ".I \($0.offset + 1)\n.T\n\($0.element.summary)\n.W\n\($0.element.body)\n"
    }
    let asked = questions.enumerated().map { ".I \($0.offset + 1)\n.W\n\($0.element.text)\n" }
    let judged = questions.enumerated().flatMap { index, question in
      question.grades.sorted { $0.key < $1.key }.map { "\(index + 1) \($0.key + 1) \($0.value)\n" }
    }
    for (name, pieces) in [("cran.all.1400", documents), ("cran.qry", asked), ("cranqrel", judged)] {
      try pieces.joined().write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
  }

  private static func lines(_ path: String) throws -> [Substring] {
    // Old files of English texts have bytes of other encodings.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { $0.hasSuffix("\r") ? $0.dropLast() : $0 }
  }

  /// The entries of a file: each begins with a line `.I` and a number, and has parts that begin with a line of a dot
  /// and a letter.
  private static func entries(_ path: String) throws -> [[Character: String]] {
    var (entries, part): ([[Character: String]], Character?) = ([], nil)
    for line in try lines(path) {
      if line.hasPrefix(".I ") {
        entries.append([:])
        part = nil
      } else if line.count == 2, line.first == ".", let letter = line.last, letter.isUppercase {
        part = letter
      } else if let part, !entries.isEmpty {
        entries[entries.count - 1][part, default: ""] += line + " "
      }
    }
    return entries
  }
}
