// Messages for the log.

internal import Logging

/// How serious a message is.
public enum YDBLogLevel: UInt, Sendable {
  /// Something failed.
  case error
  /// Something may not be meant as it is.
  case warning
  /// What happens now and then.
  case info
  /// What happens often.
  case verbose
}

/// A message for the log.
public struct YDBLogMessage: Sendable {
  /// The text.
  public let message: String
  /// How serious it is.
  public let level: YDBLogLevel
  /// The file that says so.
  public let file: String
  /// The function that says so.
  public let function: String
  /// The line that says so.
  public let line: UInt
}

extension YapDatabase {
  private static let handler = Guarded<(@Sendable (YDBLogMessage) -> Void)?>(nil)
  private static let logger = Logger(label: "YapCompat")

  /// Sends the messages of all databases to `handler`; nil sends them to swift-log, which is the default. New call:
  /// `Database.Options.logger`, for each database.
  @preconcurrency public static func setLogHandler(_ handler: (@Sendable (YDBLogMessage) -> Void)?) {
    Self.handler.withLock { $0 = handler }
  }

  static func log(
    _ level: YDBLogLevel, _ text: String, file: String = #fileID, function: String = #function, line: UInt = #line
  ) {
    if let handler = handler.withLock({ $0 }) {
      return handler(YDBLogMessage(message: text, level: level, file: file, function: function, line: line))
    }
    switch level {
    case .error: logger.error("\(text)")
    case .warning: logger.warning("\(text)")
    case .info: logger.info("\(text)")
    case .verbose: logger.debug("\(text)")
    }
  }
}
