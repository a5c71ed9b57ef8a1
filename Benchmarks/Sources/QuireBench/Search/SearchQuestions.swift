// What is asked of full text, in the words of FTS5's grammar.

/// A row of the table that asks: its questions, and what is wanted of each.
struct SearchQuestions {
  /// What is wanted of a question.
  enum Answer {
    /// How many texts there are.
    case count
    /// The numbers of all of them, in their order.
    case numbers
    /// The ten best with their scores.
    case best
  }

  let row: String
  let answer: Answer
  let questions: [String]
  /// Whether the slowest question has a row of its own.
  var tellsSlowest = false

  /// Words of 40 to 24,000 of the packages.
  private static let words = [
    "compiler", "python", "database", "game", "zsh", "library", "kernel", "astronomy", "wayland", "documentation",
  ]
  private static let pairs = [
    "text editor", "image viewer", "python database", "web server", "command line", "network monitor",
    "music player", "gtk theme",
  ]
  private static let phrases = [
    "text editor", "shared library", "command line", "development files", "web server", "file system",
    "real time strategy",
  ].map { "\"\($0)\"" }
  private static let beginnings = ["comp", "pyth", "gam", "astro", "crypt", "xyl"].map { "\($0)*" }
  private static let alternatives = pairs.map { $0.split(separator: " ").joined(separator: " OR ") }
  /// What a search field asks as somebody types.
  private static let typed = [
    "c*", "co*", "com*", "command*", "command l*", "command line*", "command line t*", "s*", "sha*", "shared l*",
    "shared libr*",
  ]

  /// All rows in the order of the table.
  static let all = [
    SearchQuestions(row: "count-word", answer: .count, questions: words),
    SearchQuestions(row: "count-and", answer: .count, questions: pairs),
    SearchQuestions(row: "count-phrase", answer: .count, questions: phrases),
    SearchQuestions(row: "count-prefix", answer: .count, questions: beginnings, tellsSlowest: true),
    SearchQuestions(row: "numbers-word", answer: .numbers, questions: words),
    SearchQuestions(row: "best-word", answer: .best, questions: words, tellsSlowest: true),
    SearchQuestions(row: "best-and", answer: .best, questions: pairs),
    SearchQuestions(row: "best-or", answer: .best, questions: alternatives, tellsSlowest: true),
    SearchQuestions(row: "best-phrase", answer: .best, questions: phrases),
    SearchQuestions(row: "best-typed", answer: .best, questions: typed, tellsSlowest: true),
  ]
}
