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

/// Where the messages of all databases go.
///
/// Invariant: a message goes to the app's handler if there is one, and else to swift-log.
final class MessageLog: Sendable {
  static let shared = MessageLog()

  private let handler = Guarded<(@Sendable (YDBLogMessage) -> Void)?>(nil)
  private let logger = Logger(label: "YapCompat")

  func setHandler(_ handler: (@Sendable (YDBLogMessage) -> Void)?) { self.handler.withLock { $0 = handler } }

  func send(_ message: YDBLogMessage) {
    if let handler = handler.withLock({ $0 }) { return handler(message) }
    switch message.level {
    case .error: logger.error("\(message.message)")
    case .warning: logger.warning("\(message.message)")
    case .info: logger.info("\(message.message)")
    case .verbose: logger.debug("\(message.message)")
    }
  }
}

extension YapDatabase {
  /// Sends the messages of all databases to `handler`; nil sends them to swift-log, which is the default. New call:
  /// `Database.Options.logger`, for each database.
  @preconcurrency public static func setLogHandler(_ handler: (@Sendable (YDBLogMessage) -> Void)?) {
    MessageLog.shared.setHandler(handler)
  }

  static func log(
    _ level: YDBLogLevel, _ text: String, file: String = #fileID, function: String = #function, line: UInt = #line
  ) {
    MessageLog.shared.send(YDBLogMessage(message: text, level: level, file: file, function: function, line: line))
  }
}
