// A model for promptfoo that answers from a table: JSON in the file $OTHERWORDS_WORDS, what is answered to each prompt,
// a word for each time it is asked. What is asked once more than that ends with an error.
const { readFileSync } = require('fs');

const words = JSON.parse(readFileSync(process.env.OTHERWORDS_WORDS, 'utf8'));
const asked = {};

module.exports = class {
  id() {
    return 'mockllm/tiny';
  }

  async callApi(prompt) {
    asked[prompt] = (asked[prompt] || 0) + 1;
    const output = words[prompt][asked[prompt] - 1];
    return output === undefined ? { error: 'the model is gone' } : { output };
  }
};
